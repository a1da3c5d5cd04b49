"""Other people's benchmarks as datasets and runs.

::

    items       what a benchmark's reader gives: pairs, and replies that its authors published
    benchmarks  BENCHMARKS, the table: one row a benchmark
    genai_bench, judgebench, …   a file a benchmark: reads its files as its documentation has them
    files       what these share: tables, images, replies that a user keeps beside a copy
    prompts     the prompt of a question, in our words or the benchmark's
    importing   a benchmark's folder into a dataset, published replies into run folders
"""
