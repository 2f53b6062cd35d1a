"""`assay train simulate`: a run of any size as discrete events, over the real buffer, pacing and coordinator."""
