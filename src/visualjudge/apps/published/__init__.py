"""Other people's benchmarks as datasets and runs.

::

    items       what a benchmark's reader gives: pairs, and replies that its authors published
    catalogue   BENCHMARKS, the table: one row a benchmark
    genai_bench, judgebench, …   a file a benchmark: reads its files as its documentation has them
    importing   a benchmark's folder into a dataset, published replies into run folders
"""
