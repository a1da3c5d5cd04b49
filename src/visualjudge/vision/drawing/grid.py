"""Where the label grid was until 1.1; it is in ``vision/masks/label_grid.py``."""

from visualjudge.on_first_use import on_first_use

__getattr__ = on_first_use(
    __name__,
    dict.fromkeys(
        ("Grid", "GridStyle", "cell_side", "covering", "draw_grid", "grid_of"),
        "visualjudge.vision.masks.label_grid",
    ),
    until="1.4",
)
