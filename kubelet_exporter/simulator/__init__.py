"""A simulated node: a kubelet and the two objects of the API server, played from a recording, failing on purpose if asked to."""
