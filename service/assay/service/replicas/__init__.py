"""State that replicas share through Redis: verdicts, uploaded references, and the usage of each key.

Redis is optional: if it is unavailable, slow or returns wrong data, that costs cache hits and the exactness of quotas,
never a verdict. Nothing here imports a web framework.
"""
