// Package monitoring tests the dashboard of deploy in a real Prometheus: every query, and one alert. Package
// deploy tests all alerts.
package monitoring
