package tour

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// foreign is a stream with another owner, and foreignMark the mark of that owner.
const (
	foreign     = "invoices"
	foreignMark = "another-cluster/nats.moorage.dev/Stream/accounting/invoices/8d3f0c52"
)

func (t *Tour) claimForeign(ctx context.Context) error {
	if _, err := t.js.CreateStream(ctx, foreignStream()); err != nil {
		return errors.Wrap(err, "cannot create a stream by hand")
	}

	if _, err := t.js.Publish(ctx, foreign+".2026", []byte("pay me")); err != nil {
		return errors.Wrap(err, "cannot store a message by hand")
	}

	s := t.stream(foreign)
	s.Spec.ForProvider.MaxAge = &v1alpha1.Duration{Duration: metav1.Duration{Duration: time.Hour}}

	return errors.Wrap(t.env.Client.Create(ctx, s), "cannot apply a stream")
}

func foreignStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: foreign, Subjects: []string{foreign + ".>"}, MaxAge: 72 * time.Hour, Description: "accounting's",
		Metadata: map[string]string{managed.StampKey: foreignMark},
	}
}

func (t *Tour) foreignUntouched(ctx context.Context) (string, error) {
	s := t.stream(foreign)

	message, err := t.condition(ctx, s, "Synced", "False", "ExternalResourceNotOwned")
	if err != nil {
		return "", err
	}

	before := t.looks.of(foreign)
	if err := t.until(ctx, "the provider observes it again", func(context.Context) error {
		if t.looks.of(foreign) == before {
			return errors.New("not yet")
		}

		return nil
	}); err != nil {
		return "", err
	}

	const no = 2

	shown, err := t.ask(ctx, command{"wait stream/" + foreign, no})
	if err != nil {
		return "", err
	}

	if shown != "" {
		shown += "\n"
	}

	if err := t.env.Client.Delete(ctx, s); err != nil {
		return "", errors.Wrap(err, "cannot delete the object")
	}

	if err := t.gone(ctx, s); err != nil {
		return "", err
	}

	if err := t.accountingUnharmed(ctx); err != nil {
		return "", err
	}

	return "condition: " + message + "\n" + shown +
		"the object is deleted again; the stream and its message are unchanged", nil
}

func (t *Tour) accountingUnharmed(ctx context.Context) error {
	info, err := t.info(ctx, foreign)
	if err != nil {
		return err
	}

	want, got := foreignStream(), info.Config
	if got.MaxAge != want.MaxAge || got.Description != want.Description || got.Metadata[managed.StampKey] != foreignMark ||
		info.State.Msgs != 1 {
		return errors.Errorf("the stream of accounting was changed: it keeps %d messages for %s, is called %q and has the "+
			"mark %q",
			info.State.Msgs, got.MaxAge, got.Description, got.Metadata[managed.StampKey])
	}

	return nil
}
