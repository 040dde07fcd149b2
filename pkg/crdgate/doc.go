// Package crdgate runs controllers while their kinds are served. A provider with many
// kinds, only some of which are installed in the cluster, starts without the others. It
// starts the controller of a kind when its CustomResourceDefinition is installed, and
// stops it when that is removed, instead of failing or logging errors.
//
// Start with New, add the gate to the manager, and Add the functions that depend on
// kinds, usually with RunController. A definition that is being deleted is still served,
// and its controllers go on: they delete the external resources of its objects.
//
// The gate has its own informer for definitions, which does not keep their schemas
// (StripDefinition). Its role needs list and watch on customresourcedefinitions:
//
//	// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch
//
// Kinds without a definition, those of Kubernetes itself and of aggregated API servers,
// are looked up in discovery, once a minute by default.
package crdgate
