// Package strict has a test that is looked at like everything else.
package strict
