"""What replicas share through Redis: verdicts, uploaded references, and what each key has used up.

Redis is an aid and never a condition: gone, slow or lying, it costs cache hits and the exactness of quotas,
never a verdict. Nothing here imports a web framework.
"""
