package objects

// Decide is what Plan asks for each object.
var Decide = decide

// DecideBack is what PlanBack asks for each object.
var DecideBack = decideBack
