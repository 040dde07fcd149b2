// Package cli is the command line for the objects of a device. Any Kubernetes client over the same store can do the
// same.
package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/edge/internal/device"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/store/kube"
)

// A Line is a command line to one device. Make one with Dial, and close it.
type Line struct {
	client    *kube.Client
	namespace string
	out       io.Writer
	closeConn func()
}

// Dial connects to the device that is served from a directory.
func Dial(ctx context.Context, dir, namespace string, out io.Writer) (*Line, error) {
	c, closeConn, err := device.Dial(ctx, dir)
	if err != nil {
		return nil, err
	}

	return &Line{client: c, namespace: namespace, out: out, closeConn: closeConn}, nil
}

// Close ends the connection.
func (l *Line) Close() { l.closeConn() }

// Apply creates the objects in a file, or changes those that exist. Labels and annotations that are not in the file
// stay.
func (l *Line) Apply(ctx context.Context, path string, in io.Reader) error {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return errors.Wrap(err, "cannot read objects")
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return errors.Wrap(err, "cannot read objects")
	}
	for _, document := range bytes.Split(data, []byte("\n---")) {
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		if err := l.applyOne(ctx, document); err != nil {
			return err
		}
	}

	return nil
}

func (l *Line) applyOne(ctx context.Context, document []byte) error {
	f := &v1.File{}
	if err := yaml.UnmarshalStrict(document, f); err != nil {
		return errors.Wrap(err, "cannot decode an object")
	}
	if kind := v1.GroupVersion.WithKind("File"); f.GroupVersionKind() != kind {
		return errors.Errorf("cannot apply %s: the device knows %s", f.GroupVersionKind(), kind)
	}
	if f.Namespace == "" {
		f.Namespace = l.namespace
	}
	have := &v1.File{}
	err := l.client.Get(ctx, client.ObjectKeyFromObject(f), have)
	switch {
	case resource.IsNotFound(err):
		err = l.client.Create(ctx, f)
	case err == nil:
		want, ok := have.DeepCopyObject().(*v1.File)
		if !ok {
			return errors.New("a copy of a file is no file")
		}
		want.Spec = f.Spec
		want.Labels = merged(want.Labels, f.Labels)
		want.Annotations = merged(want.Annotations, f.Annotations)
		err = l.client.Patch(ctx, want, client.MergeFrom(have))
	}
	if err == nil {
		fmt.Fprintf(l.out, "file %s applied\n", f.Name)
	}

	return errors.Wrapf(err, "cannot apply %s", f.Name)
}

func merged(into, from map[string]string) map[string]string {
	for key, value := range from {
		if into == nil {
			into = map[string]string{}
		}
		into[key] = value
	}

	return into
}

// Get prints the objects with the given names as YAML. Without a name it lists all.
func (l *Line) Get(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return l.list(ctx)
	}
	for _, name := range names {
		f := &v1.File{}
		if err := l.client.Get(ctx, client.ObjectKey{Namespace: l.namespace, Name: name}, f); err != nil {
			return errors.Wrap(err, "cannot get")
		}
		text, err := yaml.Marshal(f)
		if err != nil {
			return errors.Wrap(err, "cannot show")
		}
		fmt.Fprintf(l.out, "%s", text)
	}

	return nil
}

func (l *Line) list(ctx context.Context) error {
	list := &v1.FileList{}
	if err := l.client.List(ctx, list, client.InNamespace(l.namespace)); err != nil {
		return errors.Wrap(err, "cannot list")
	}
	table := tabwriter.NewWriter(l.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tREADY\tSYNCED\tSIZE")
	for i := range list.Items {
		fmt.Fprintln(table, row(&list.Items[i]))
	}

	return table.Flush()
}

func row(f *v1.File) string {
	ready, synced := state(f, commonv1.TypeReady), state(f, commonv1.TypeSynced)

	return fmt.Sprintf("%s\t%s\t%s\t%d", f.Name, ready, synced, f.Status.Size)
}

func state(f *v1.File, t commonv1.ConditionType) string {
	c := f.GetCondition(t)
	if c.LastTransitionTime.IsZero() { // it was never set
		return "-"
	}

	return fmt.Sprintf("%s(%s)", c.Status, c.Reason)
}

// Watch prints the existing objects, and then every change, until the context ends.
func (l *Line) Watch(ctx context.Context) error {
	for ctx.Err() == nil {
		w, err := l.client.Watch(ctx, &v1.FileList{}, client.InNamespace(l.namespace))
		if err != nil {
			return errors.Wrap(err, "cannot watch")
		}
		for e := range w.ResultChan() {
			if f, ok := e.Object.(*v1.File); ok && e.Type != watch.Error {
				fmt.Fprintf(l.out, "%s\t%s\n", e.Type, row(f))
			}
		}
		w.Stop()
	}

	return nil
}

// Delete deletes objects. It does not wait until they are gone.
func (l *Line) Delete(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return errors.New("cannot delete: no name")
	}
	for _, name := range names {
		f := &v1.File{}
		f.Namespace, f.Name = l.namespace, name
		if err := l.client.Delete(ctx, f); err != nil {
			return errors.Wrap(err, "cannot delete")
		}
		fmt.Fprintf(l.out, "file %s deleted\n", name)
	}

	return nil
}
