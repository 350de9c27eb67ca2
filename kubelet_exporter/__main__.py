"""`python -m kubelet_exporter`."""

from kubelet_exporter.cli import main

if __name__ == "__main__":
    main()
