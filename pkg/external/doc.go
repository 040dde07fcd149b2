// Package external lets the client of an external system say more about a
// failure than its text: that the name is taken already (AlreadyExists), that a
// create surely had no effect (NotCreated), or that trying again is of no use
// until the object changes (Terminal).
//
// Each function marks an error without changing its text, and each mark is found
// again however often the error has been wrapped since. Marks do not exclude
// each other. An error without any mark is retried with a growing delay, and if a
// create returned it, whether the resource exists is regarded as unknown.
//
// All functions may be called concurrently.
package external
