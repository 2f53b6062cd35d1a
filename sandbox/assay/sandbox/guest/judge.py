def run(head,blobs): return 1
