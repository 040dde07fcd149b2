// Package v1 holds the small types that every managed resource stores: its conditions, and references to other objects.
//
// A kind embeds ConditionedStatus in its status, and its methods SetConditions and GetCondition call those of
// ConditionedStatus. Names and JSON are the same as in objects of existing providers. An object therefore need not be
// changed when its provider migrates to this runtime. Only Condition has an additional field, observedGeneration.
//
// The times of conditions are wall clock times with a precision of one second. Values of this package are plain data.
// They can be copied with DeepCopy, and must not be changed concurrently.
//
// +kubebuilder:object:generate=true
package v1
