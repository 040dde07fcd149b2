package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// The categories of kinds of managed resources.
const (
	categoryManaged = "managed"
	categoryMoorage = "moorage"
)

// A Kind is a kind of objects that the API server has.
type Kind struct {
	// Resource of the kind, in the version that the API server prefers.
	Resource   schema.GroupVersionResource
	Name       string // such as Stream
	Namespaced bool
	// Managed is true if a category says that objects of the kind are managed resources.
	Managed bool
	// Complete is true if a category says that the provider uses this library: an object without the condition UpToDate
	// has not differed so far.
	Complete bool
	// Argument is the shortest name of the kind that Find understands, such as stream, or stream.nats.moorage.dev if
	// other kinds have that name.
	Argument string

	names []string // in lower case
}

// String returns the name that is unique, such as streams.nats.moorage.dev.
func (k Kind) String() string { return text.Line(k.Resource.GroupResource().String()) }

// Kinds are the kinds of an API server.
type Kinds struct {
	all []Kind
	// Unread has a sentence if the API server could not list some kinds. It is empty otherwise.
	Unread string
}

// Kinds returns the kinds that the API server has. If some groups cannot be read, it returns the others.
func (c *Cluster) Kinds(ctx context.Context) (Kinds, error) {
	lists, err := c.discovery.ServerPreferredResourcesWithContext(ctx)

	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && (!errors.As(err, &partly) || len(lists) == 0) {
		return Kinds{}, c.fault(ctx, "list the kinds of the API server", err)
	}

	var out Kinds

	if partly != nil {
		for group := range partly.Groups {
			out.Unread += ", " + group.String()
		}

		out.Unread = text.Line("the API server could not list the kinds of " + strings.TrimPrefix(out.Unread, ", "))
	}

	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}

		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "get") {
				out.all = append(out.all, kind(version, r))
			}
		}
	}

	slices.SortFunc(out.all, func(a, b Kind) int { return strings.Compare(a.String(), b.String()) })
	out.setArguments()

	return out, nil
}

// setArguments sets the shortest name of each kind.
func (ks Kinds) setArguments() {
	for i := range ks.all {
		k := &ks.all[i]

		k.Argument = strings.ToLower(k.Name)
		if found, err := ks.Find(k.Argument); err != nil || found.Resource != k.Resource {
			k.Argument = strings.Trim(k.Argument+"."+k.Resource.Group, ".")
		}
	}
}

// Unique reports whether a name is that of one kind of managed resources.
func (ks Kinds) Unique(name string) bool {
	_, err := ks.Find(name)

	return err == nil
}

func kind(version schema.GroupVersion, r metav1.APIResource) Kind {
	names := []string{r.Name, r.SingularName, r.Kind}
	names = append(names, r.ShortNames...)

	for i := range names {
		names[i] = strings.ToLower(names[i])
	}

	return Kind{
		Resource: version.WithResource(r.Name), Name: text.Line(r.Kind), Namespaced: r.Namespaced,
		Managed:  slices.Contains(r.Categories, categoryManaged) || slices.Contains(r.Categories, categoryMoorage),
		Complete: slices.Contains(r.Categories, categoryMoorage),
		names:    names,
	}
}

// Managed returns the kinds that are managed resources by their category.
func (ks Kinds) Managed() (out []Kind) {
	for _, k := range ks.all {
		if k.Managed {
			out = append(out, k)
		}
	}

	return out
}

// Find returns the kind of a name: plural, singular, kind or short name, in any case, with or without its group. Kinds
// of managed resources win. An error is a sentence for the user.
func (ks Kinds) Find(name string) (Kind, error) {
	var found []Kind

	short, group, grouped := strings.Cut(strings.ToLower(name), ".")
	for _, k := range ks.all {
		if slices.Contains(k.names, short) && (!grouped || group == k.Resource.Group ||
			group == k.Resource.Version+"."+k.Resource.Group) {
			found = append(found, k)
		}
	}

	if managed := slices.DeleteFunc(slices.Clone(found), func(k Kind) bool { return !k.Managed }); len(managed) > 0 {
		found = managed
	}

	switch {
	case len(found) == 0:
		return Kind{}, fmt.Errorf("the API server has no kind %q; %s", text.Line(name), ks.hint())
	case len(found) > 1:
		return Kind{}, fmt.Errorf("%q is the name of several kinds: write %s", text.Line(name), list(found, " or "))
	}

	return found[0], nil
}

// hint returns which kinds there are.
func (ks Kinds) hint() string {
	hint := "it has no kind of managed resources (category " + categoryManaged + ")"
	if managed := ks.Managed(); len(managed) > 0 {
		hint = "kinds of managed resources are " + list(managed, ", ")
	}

	if ks.Unread != "" {
		hint += "; " + ks.Unread
	}

	return hint
}

// list returns the names of at most ten kinds.
func list(kinds []Kind, separator string) string {
	const most = 10

	var names []string
	for _, k := range kinds[:min(most, len(kinds))] {
		names = append(names, k.String())
	}

	out := strings.Join(names, separator)
	if len(kinds) > most {
		out += fmt.Sprintf("%sand %d more", separator, len(kinds)-most)
	}

	return out
}
