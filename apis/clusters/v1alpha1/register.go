package v1alpha1

import (
	"embed"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kinds in this package. It must not be changed.
var GroupVersion = schema.GroupVersion{Group: "clusters.moorage.dev", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package in a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Cluster{}, &ClusterList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}

//go:embed package/crds/*.yaml
var crds embed.FS

// CRDs returns the YAML files with the CustomResourceDefinitions of the kinds.
func CRDs() fs.FS { return crds }
