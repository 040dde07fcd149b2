// Package trials holds the library to what an operator may expect of it when the
// platform gives answers that are wrong, or takes away what was stored. Its tests use
// only what is public, and each says what must hold. It has no other code.
package trials
