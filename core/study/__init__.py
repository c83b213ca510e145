"""One study: traffic, engine, limits, prices and scenarios; every number of a list, once.

`Study` answers for any list; `choose` finds the lists worth asking about; `verdict` says which of
them to run, or to keep what runs. Nothing is recommended that was not simulated with its own graphs
in every scenario, beside what runs today.
"""
