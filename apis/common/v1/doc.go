// Package v1 holds the small types that every managed resource stores: its conditions, and references to other objects.
//
// A kind embeds ConditionedStatus in its status and forwards SetConditions and
// GetCondition to it. Names and JSON are those that existing providers have stored,
// so that an object need not be changed when its provider migrates to this runtime;
// only Condition has one more field, observedGeneration.
//
// Condition times are taken from the wall clock of the machine, to the second.
// Values of this package are plain data: safe to copy with DeepCopy, not safe
// to change from several goroutines.
//
// +kubebuilder:object:generate=true
package v1
