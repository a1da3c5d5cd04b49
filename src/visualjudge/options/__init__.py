"""What judge, build and report can be told: a frozen record for each, whose fields are options of
the command and keywords of the Python function. A default, a help and a bound stand here only.
"""
