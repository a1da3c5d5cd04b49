"""Published benchmarks as datasets and runs.

::

    benchmarks  BENCHMARKS, the table: one row per benchmark
    genai_bench, judgebench, …   one reader per benchmark, for files as documented by its authors
    reading     shared code of the readers: questions, replies, tables, images
    prompts     the prompt of a question, in our words or the benchmark's
    importing   a benchmark's folder into a dataset, published replies into run folders
"""
