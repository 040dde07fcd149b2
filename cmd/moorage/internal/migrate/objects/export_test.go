package objects

// Decide is what Plan asks for each object.
var Decide = decide
