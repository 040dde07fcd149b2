package crdgate

import (
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StripDefinition is a transform for caches of CustomResourceDefinitions, as in
// cache.ByObject: it keeps name, UID, resource version and deletion timestamp,
// group, names, scope, versions and conditions. The schemas, which are nearly
// all of a definition, are dropped. Other objects stay as they are. It changes
// the object it is given.
func StripDefinition(obj any) (any, error) {
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return obj, nil
	}
	versions := make([]apiextensionsv1.CustomResourceDefinitionVersion, len(crd.Spec.Versions))
	for i, v := range crd.Spec.Versions {
		versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served, Storage: v.Storage}
	}
	*crd = apiextensionsv1.CustomResourceDefinition{
		TypeMeta: crd.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion, DeletionTimestamp: crd.DeletionTimestamp,
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: crd.Spec.Group, Names: crd.Spec.Names, Scope: crd.Spec.Scope, Versions: versions,
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: crd.Status.Conditions},
	}

	return crd, nil
}

// A catalogue is the definitions there are. It may be used concurrently.
type catalogue struct {
	mu     sync.RWMutex
	synced bool
	byName map[string]definition
	groups map[string]int            // number of definitions
	had    map[schema.GroupKind]bool // of those that are tracked: has or had a definition
}

// A definition is what the gate needs of one.
type definition struct {
	kind        schema.GroupKind
	uid         string
	established bool
	versions    []string // served
}

func newCatalogue() *catalogue {
	return &catalogue{byName: map[string]definition{}, groups: map[string]int{}, had: map[schema.GroupKind]bool{}}
}

func define(crd *apiextensionsv1.CustomResourceDefinition) definition {
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

// track lets the catalogue remember of a kind that it had a definition.
// Of other kinds it remembers only the definitions there are.
func (c *catalogue) track(kind schema.GroupKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.had[kind] {
		return
	}
	c.had[kind] = false
	for _, d := range c.byName {
		if d.kind == kind {
			c.had[kind] = true
		}
	}
}

func (c *catalogue) set(crd *apiextensionsv1.CustomResourceDefinition) {
	d := define(crd)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, had := c.byName[crd.Name]; !had {
		c.groups[d.kind.Group]++
	}
	c.byName[crd.Name] = d
	if _, tracked := c.had[d.kind]; tracked {
		c.had[d.kind] = true
	}
}

func (c *catalogue) remove(name string) {
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

func (c *catalogue) complete() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.synced = true
}

// A finding is what the definitions say of a kind.
type finding int

const (
	unknown   finding = iota // not all definitions are known yet
	undefined                // it never had one, nor has its group: discovery knows
	unserved                 // its definition does not serve it, or is gone, or its group has other ones
	served                   // its definition serves it
)

// find returns what the definitions say of a kind, with the UID of the one that
// serves it. Of a kind that discovery has found it never says that it is unserved
// because of others in its group.
func (c *catalogue) find(gvk schema.GroupVersionKind, discovered bool) (finding, string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.synced {
		return unknown, ""
	}
	if !c.had[gvk.GroupKind()] {
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

func (d definition) serves(version string) bool {
	return d.established && slices.Contains(d.versions, version)
}
