"""The generation pool: what samples completions, in this process, in worker processes, or on servers."""
