"""What encodings of all types draw and write with."""
