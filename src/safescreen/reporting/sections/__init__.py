"""The sections of a page: each is a function of the subject, and empty where there is nothing to say."""
