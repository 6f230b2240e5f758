// Package monitoring tests what is in deploy, in a real Prometheus: the alerts, and every query of the dashboard.
package monitoring
