"""What is generated from the catalogue: alert rules, dashboards, reference and runbooks."""
