package objects

// Decide is what Plan asks for each object.
var Decide = decide

// DecideBack is what PlanBack asks for each object.
var DecideBack = decideBack

// Leaving says what becomes of an object that is being deleted without a finalizer of ours.
func Leaving(role Role) string { return leaving[role] }
