"""WHAT IS JUDGED: a folder for each type of prediction, and the code that they
share."""
