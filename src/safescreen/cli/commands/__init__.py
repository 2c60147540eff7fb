"""One module per command: what it is asked, and in which order things happen."""
