// Package crdgate runs controllers while their kinds are served. A provider
// with many kinds, of which a cluster has installed a few, starts without the
// others, begins with a kind when its CustomResourceDefinition comes, and ends
// when that goes, instead of failing or logging errors for ever.
//
// Begin with New, give the gate to the manager, and Add what depends on kinds;
// RunController is the usual thing to be run. A definition that is being deleted
// is still served, and its controllers run on: their objects have external
// resources to be deleted before they can go.
//
// The gate has an informer of its own for definitions, which keeps nothing of
// their schemas (StripDefinition). Its role needs list and watch on
// customresourcedefinitions:
//
//	// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch
//
// Kinds without a definition, those of Kubernetes itself and of aggregated API
// servers, are looked for in discovery, from time to time.
package crdgate
