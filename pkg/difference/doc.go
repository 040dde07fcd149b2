// Package difference compares the desired state of an external resource with its observed state. The result names each
// field that differs, for the status, the events and the log of the object.
//
// Begin with [Between], which compares two values by their JSON. Options name the fields that need another comparison:
// lists whose order is irrelevant, defaults of the external system, secrets. A client that computes its differences in
// another way bounds and redacts them with [Clean], as Between does.
//
// # Paths
//
// A path names a field as a user writes it below spec.forProvider: maxAge, sources[0].name. A name that is not a simple
// word stands in brackets: labels["example.org/team"]. Indices begin with 0.
//
// In the path of an option the brackets may also have an asterisk, which means each element of a list or each key of a
// map: sources[*].name. The quotes may be missing: labels[example.org/team].
//
// All functions may be called concurrently, as long as their arguments are not changed meanwhile.
package difference
