package translate

// Portable is portable, for tests.
var Portable = portable
