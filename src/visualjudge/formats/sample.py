"""Where the names that 1.1 had here are now: samples and their records' errors in
``formats/samples.py``, pairs of files in ``formats/pairing.py``, tables and class names
in ``formats/tables.py``.
"""

from visualjudge.on_first_use import on_first_use

__getattr__ = on_first_use(
    __name__,
    {
        name: f"visualjudge.formats.{home}"
        for home, names in {
            "samples": "Sample Side check_type invalid other_size exif_hint fitted"
            " named turned hull RESIZE compared",
            "pairing": "folder_at stated_file IMAGE_SUFFIXES files_by_key"
            " images_by_key aligned paired by_name",
            "tables": "whole class_name read_json read_pickle read_table table_rows",
        }.items()
        for name in names.split()
    },
    until="1.4",
)
