// Package crdgate runs controllers while their kinds are served. A provider with many kinds can start even if only some
// of their CustomResourceDefinitions are installed. The controller of a kind starts when its CustomResourceDefinition
// is installed, and stops when the CustomResourceDefinition is removed. While a kind is not served, the provider
// neither fails nor logs errors.
//
// Start with New, add the gate to the manager, and call Gate.Add with the functions that depend on kinds. These
// functions usually call RunController. A CustomResourceDefinition that is being deleted is still served. Its
// controllers continue to run, so that they delete the external resources of its objects.
//
// The gate has its own informer for CustomResourceDefinitions, which does not store their schemas (StripDefinition).
// Its role needs list and watch on customresourcedefinitions:
//
//	// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch
//
// The gate looks up kinds without a CustomResourceDefinition in discovery, once a minute by default. Such kinds are the
// built-in kinds of Kubernetes and the kinds of aggregated API servers.
package crdgate
