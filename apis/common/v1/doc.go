// Package v1 holds the small types that every managed resource stores: the
// conditions that tell how it is doing, and references to other objects.
//
// A kind embeds ConditionedStatus in its status and forwards SetConditions and
// GetCondition to it. Names and JSON are the ones an existing fleet has stored,
// so that an object need not be touched when its provider changes over;
// Condition alone has one field more, observedGeneration.
//
// Condition times are taken from the wall clock of the machine, to the second.
// Values of this package are plain data: safe to copy with DeepCopy, not safe
// to change from several goroutines.
//
// +kubebuilder:object:generate=true
package v1
