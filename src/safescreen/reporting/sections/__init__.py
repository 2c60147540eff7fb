"""The sections of a page: each module makes one from the subject, empty where there is nothing to say."""
