"""Applications built on the other packages; each folder could be removed on its own."""
