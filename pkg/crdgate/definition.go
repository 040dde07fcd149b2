package crdgate

import (
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StripDefinition is a transform for caches of CustomResourceDefinitions, as in cache.ByObject. It removes the schemas,
// which are the largest part of a CustomResourceDefinition. It keeps name, UID, resource version, deletion timestamp,
// group, names, scope, versions and conditions. StripDefinition modifies its argument. It does not change objects of
// other types.
func StripDefinition(obj any) (any, error) {
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return obj, nil
	}
	versions := make([]apiextensionsv1.CustomResourceDefinitionVersion, len(crd.Spec.Versions))
	for i, v := range crd.Spec.Versions {
		versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served,
			Storage: v.Storage}
	}
	*crd = apiextensionsv1.CustomResourceDefinition{
		TypeMeta: crd.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion,
			DeletionTimestamp: crd.DeletionTimestamp,
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: crd.Spec.Group, Names: crd.Spec.Names, Scope: crd.Spec.Scope, Versions: versions,
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: crd.Status.Conditions},
	}

	return crd, nil
}

// crdIndex is an index of the CustomResourceDefinitions of the cluster. It is safe for
// concurrent use.
type crdIndex struct {
	mu            sync.RWMutex
	synced        bool
	byName        map[string]definition
	groups        map[string]int            // number of definitions
	hadDefinition map[schema.GroupKind]bool // tracked kinds: whether they ever had a definition
}

// A definition holds the parts of a CustomResourceDefinition that the gate needs.
type definition struct {
	kind        schema.GroupKind
	uid         string
	established bool
	versions    []string // served
}

// newCRDIndex returns an empty index.
func newCRDIndex() *crdIndex {
	return &crdIndex{
		byName: map[string]definition{}, groups: map[string]int{},
		hadDefinition: map[schema.GroupKind]bool{},
	}
}

// definitionOf returns the definition of a CustomResourceDefinition.
func definitionOf(crd *apiextensionsv1.CustomResourceDefinition) definition {
	d := definition{kind: schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}, uid: string(crd.UID)}
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			d.established = c.Status == apiextensionsv1.ConditionTrue
		}
	}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			d.versions = append(d.versions, v.Name)
		}
	}

	return d
}

// track adds a kind for which the index records whether it ever had a definition. For other kinds the index contains
// only the current definitions.
func (c *crdIndex) track(kind schema.GroupKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hadDefinition[kind] {
		return
	}
	c.hadDefinition[kind] = false
	for _, d := range c.byName {
		if d.kind == kind {
			c.hadDefinition[kind] = true
		}
	}
}

// set adds or updates a definition.
func (c *crdIndex) set(crd *apiextensionsv1.CustomResourceDefinition) {
	d := definitionOf(crd)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, had := c.byName[crd.Name]; !had {
		c.groups[d.kind.Group]++
	}
	c.byName[crd.Name] = d
	if _, tracked := c.hadDefinition[d.kind]; tracked {
		c.hadDefinition[d.kind] = true
	}
}

// remove removes a definition.
func (c *crdIndex) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, had := c.byName[name]
	if !had {
		return
	}
	delete(c.byName, name)
	if c.groups[d.kind.Group]--; c.groups[d.kind.Group] == 0 {
		delete(c.groups, d.kind.Group)
	}
}

// setSynced records that the index contains all definitions.
func (c *crdIndex) setSynced() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.synced = true
}

// serving is the state of a kind according to the definitions.
type serving int

const (
	unknown   serving = iota // not all definitions are known yet
	undefined                // neither the kind nor its group has a definition: use discovery
	unserved                 // its definition is gone or does not serve it, or only other kinds of its group have one
	served                   // its definition serves it
)

// find returns the state of a kind according to the definitions, and the UID of the definition that serves it. If
// discovery has found a kind that has never had a definition, find does not return unserved because of other
// definitions in its group.
func (c *crdIndex) find(gvk schema.GroupVersionKind, discovered bool) (serving, string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.synced {
		return unknown, ""
	}
	if !c.hadDefinition[gvk.GroupKind()] {
		if c.groups[gvk.Group] == 0 || discovered {
			return undefined, ""
		}

		return unserved, ""
	}
	for _, d := range c.byName {
		if d.kind == gvk.GroupKind() && d.serves(gvk.Version) {
			return served, d.uid
		}
	}

	return unserved, ""
}

// serves reports whether the definition serves a version.
func (d definition) serves(version string) bool {
	return d.established && slices.Contains(d.versions, version)
}
