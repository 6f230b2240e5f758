// Package browser opens the page of debuglocks in a real browser: a headless Chromium, driven over the pipe of its
// DevTools protocol, which needs no other program and no module.
package browser
