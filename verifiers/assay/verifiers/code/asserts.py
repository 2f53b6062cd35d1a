"""stub"""
def run(candidacy): raise NotImplementedError
