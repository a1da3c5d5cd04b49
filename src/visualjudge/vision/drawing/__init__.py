"""What the encodings of all types draw with: lines, words, colours, fonts. The
encodings are in ``vision/<type>/draw.py``; plots of figures, in ``analysis/plots``.
"""
