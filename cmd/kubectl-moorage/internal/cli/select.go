package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// A target is what an argument names: an object, or all objects of a kind.
type target struct{ kind, name string }

// parse returns what arguments name: "KIND/NAME...", "KIND NAME..." or "KIND[,KIND...]".
func parse(args []string) (out []target, err error) {
	if len(args) == 0 {
		return nil, nil
	}

	slashes := strings.Contains(args[0], "/")
	for _, arg := range args {
		if strings.Contains(arg, "/") != slashes {
			return nil, fmt.Errorf("%q: write either KIND/NAME for each object, or KIND NAME NAME", text.Line(arg))
		}
	}

	switch {
	case slashes:
		for _, arg := range args {
			kind, name, _ := strings.Cut(arg, "/")
			if kind == "" || name == "" || strings.Contains(name, "/") {
				return nil, fmt.Errorf("%q names no object: write KIND/NAME", text.Line(arg))
			}

			out = append(out, target{kind, name})
		}
	case len(args) > 1:
		for _, name := range args[1:] {
			if name == "" {
				return nil, errors.New("the name of an object is empty")
			}

			out = append(out, target{args[0], name})
		}
	default:
		for kind := range strings.SplitSeq(args[0], ",") {
			if kind == "" {
				return nil, fmt.Errorf("%q has an empty kind", text.Line(args[0]))
			}

			out = append(out, target{kind: kind})
		}
	}

	return out, nil
}

// An item is an object with its kind.
type item struct {
	kind   cluster.Kind
	object object.Object
}

// command returns a command of this program about the object, for a shell.
func (i item) command(verb string) string {
	out := "kubectl moorage " + verb + " " + i.kind.Argument + "/" + i.object.GetName()
	if namespace := i.object.GetNamespace(); namespace != "" {
		out += " -n " + namespace
	}

	return text.Line(out)
}

// resumption returns what to do about an object that is paused by an annotation, or by its policies.
func (i item) resumption(by string) string {
	if by == object.ByPolicies {
		return "List the actions that are allowed in spec.managementPolicies, such as \"*\"."
	}

	return i.command("resume")
}

// A session is a cluster with its kinds.
type session struct {
	*cluster.Cluster

	kinds cluster.Kinds
}

// connect returns the cluster of the flags. It reads the kinds of the API server.
func (c *console) connect(ctx context.Context) (*session, error) {
	to, err := c.access.Connect()
	if err != nil {
		return nil, err
	}

	kinds, err := to.Kinds(ctx)
	if err != nil {
		return nil, err
	}

	return &session{to, kinds}, nil
}

// selection returns the selection of a target, by the flags.
func (c *console) selection(s *session, t target) (cluster.Selection, error) {
	kind, err := s.kinds.Find(t.kind)
	if err != nil {
		return cluster.Selection{}, err
	}

	namespace := s.Namespace

	switch {
	case t.name != "" && c.flags.everywhere:
		return cluster.Selection{}, errors.New("an object with a name cannot be looked for in all namespaces: " +
			"use -n instead of -A")
	case t.name != "" && c.flags.labels != "":
		return cluster.Selection{}, errors.New("use either the name of an object or a selector (-l)")
	case c.flags.everywhere:
		namespace = ""
	}

	return cluster.Selection{Kind: kind, Namespace: namespace, Name: t.name, Labels: c.flags.labels}, nil
}

// one returns the object that the arguments name. It is an error if they name several, or none.
func (c *console) one(ctx context.Context, args []string) (*session, item, error) {
	targets, err := parse(args)

	switch {
	case err != nil:
		return nil, item{}, err
	case len(targets) != 1 || targets[0].name == "":
		return nil, item{}, errors.New("name one object: KIND/NAME, such as stream/orders")
	}

	s, err := c.connect(ctx)
	if err != nil {
		return nil, item{}, err
	}

	where, err := c.selection(s, targets[0])
	if err != nil {
		return nil, item{}, err
	}

	found, err := s.Get(ctx, where)
	if err != nil {
		return s, item{kind: where.Kind}, err
	}

	it := item{where.Kind, found}

	return s, it, it.check()
}

// check returns an error if the object is no managed resource.
func (i item) check() error {
	if i.kind.Managed || i.object.Managed() {
		return nil
	}

	return fmt.Errorf("%s is no managed resource: its kind %s is not in the category managed, and the object does not "+
		"have the conditions Ready and Synced", i.object, i.kind)
}

// find returns the objects of the selections, each once, and an error for each selection that could not be read.
func (s *session) find(ctx context.Context, selections []cluster.Selection) (found []item, failed []error) {
	seen := map[types.UID]bool{}
	failed = s.each(ctx, selections, func(it item) {
		if !seen[it.object.GetUID()] {
			seen[it.object.GetUID()] = true
			found = append(found, it)
		}
	})

	return found, failed
}

// each calls to with the objects of the selections, page by page. It returns an error for each selection that could not
// be read to its end.
func (s *session) each(ctx context.Context, selections []cluster.Selection, to func(item)) (failed []error) {
	for _, where := range selections {
		if ctx.Err() != nil {
			return append(failed, errInterrupted)
		}

		read := s.all
		if where.Name != "" {
			read = s.named
		}

		if err := read(ctx, where, to); err != nil {
			failed = append(failed, err)
		}
	}

	return failed
}

// named calls to with the object that a selection names.
func (s *session) named(ctx context.Context, where cluster.Selection, to func(item)) error {
	o, err := s.Get(ctx, where)
	if err != nil {
		return err
	}

	it := item{where.Kind, o}
	if err := it.check(); err != nil {
		return err
	}

	to(it)

	return nil
}

// all calls to with the managed resources of a selection.
func (s *session) all(ctx context.Context, where cluster.Selection, to func(item)) error {
	managed := false

	_, err := s.Pages(ctx, where, func(objects []object.Object) {
		for _, o := range objects {
			if it := (item{where.Kind, o}); it.check() == nil {
				managed = true

				to(it)
			}
		}
	})
	if err == nil && !managed && !where.Kind.Managed {
		err = fmt.Errorf("%s is no kind of managed resources: it is not in the category managed, and no object has the "+
			"conditions Ready and Synced", where.Kind)
	}

	return err
}

// selections returns the selections of the arguments. Without arguments these are all kinds of managed resources.
func (c *console) selections(s *session, targets []target) (out []cluster.Selection, err error) {
	if len(targets) == 0 {
		for _, k := range s.kinds.Managed() {
			targets = append(targets, target{kind: k.String()})
		}
	}

	for _, t := range targets {
		where, err := c.selection(s, t)
		if err != nil {
			return nil, err
		}

		out = append(out, where)
	}

	return out, nil
}

// where returns the namespace of the flags in words.
func (c *console) where(s *session) string {
	if c.flags.everywhere {
		return "in any namespace"
	}

	return fmt.Sprintf("in namespace %q", s.Namespace)
}

// joined prints all errors but the last, and returns that. It returns nil without an error.
func (c *console) joined(failed []error) error {
	for i, err := range failed {
		if i == len(failed)-1 {
			return err
		}

		c.note("kubectl moorage: %v", err)
	}

	return nil
}
