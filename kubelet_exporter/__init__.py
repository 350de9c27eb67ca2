"""A Prometheus exporter for the kubelet of one Kubernetes node."""

__version__ = "0.1.0"
