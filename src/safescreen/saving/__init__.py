"""Fitted models to and from files: `record` is the file itself, `model_files` its scikit-learn side."""
