"""Published benchmarks as datasets and runs.

::

    benchmarks  BENCHMARKS, the table: one row a benchmark
    genai_bench, judgebench, …   a file a benchmark: reads its files as its documentation has them
    reading     what these share: the questions and replies that they give, tables, images
    prompts     the prompt of a question, in our words or the benchmark's
    importing   a benchmark's folder into a dataset, published replies into run folders
"""
