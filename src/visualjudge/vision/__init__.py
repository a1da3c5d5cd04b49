"""WHAT IS JUDGED: a folder for each family of predictions, and the toolkits that they share."""
