package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

var errOfUse = errors.New("the old access is still of use")

func (t *walk) steps() []tour.Step {
	var first client.Client // with the first access to amber's control plane

	return slices.Concat(t.living(&first), t.configuring(), t.rotating(), t.leaving(), t.lasting(&first))
}

// An action is what a user or an administrator does in a step.
type action func(ctx context.Context) error

// newStep returns a step that does the action, if it is not nil, and then waits until all checks hold.
func newStep(claim string, within time.Duration, want string, do action, checks ...check) tour.Step {
	return tour.Step{Claim: claim, Within: within, Show: func(ctx context.Context, r *tour.Report) error {
		if do != nil {
			if err := do(ctx); err != nil {
				return err
			}
		}

		return await(ctx, r, want, checks...)
	}}
}

// await waits until all checks hold, and reports their descriptions as evidence.
func await(ctx context.Context, r *tour.Report, want string, checks ...check) error {
	var seen []string
	err := r.Until(ctx, want, func(ctx context.Context) (err error) {
		seen = nil
		for _, c := range checks {
			text, e := c(ctx)
			seen, err = append(seen, text), errors.Join(err, e)
		}

		return err
	})
	if err != nil {
		return err
	}
	for _, text := range seen {
		r.See("%s", text)
	}

	return nil
}

// living returns the steps in which accounts are created and kept.
func (t *walk) living(first *client.Client) []tour.Step {
	return []tour.Step{
		newStep("red, violet and amber ask for accounts: access to their control planes is granted, their credentials are "+
			"there, and NATS accepts them.",
			30*time.Second, "three accounts that are Ready, with credentials that NATS accepts",
			func(ctx context.Context) error {
				return errors.Join(t.ask(ctx, "red"), t.ask(ctx, "violet"), t.ask(ctx, "amber"))
			},
			t.ready("red"), t.ready("violet"), t.ready("amber"), t.works("red"), t.works("violet"), t.works("amber"),
			func(ctx context.Context) (text string, err error) {
				*first, err = t.access(ctx, "amber")

				return "platform: " + t.describe(ctx, request("amber")), err
			}),
		newStep("Each has a gateway in a workload cluster, which the provider has asked the platform for.", 10*time.Second,
			"ClusterRequests that are Granted, and a Deployment each", nil,
			t.granted("red"), t.deployed("red"), t.granted("violet"), t.deployed("violet"), t.granted("amber"),
			t.deployed("amber")),
	}
}

// configuring returns the steps in which the configuration changes, and an account is paused.
func (t *walk) configuring() []tour.Step {
	return []tour.Step{
		newStep("The configuration changes, and with it what NATS allows every account: no poll came before an hour was "+
			"over.",
			10*time.Second, "9 connections for every account",
			t.configure(`{"connections":9,"poll":"2s"}`), // from now on every two seconds
			t.allowed("red", 9), t.allowed("violet", 9), t.allowed("amber", 9)),
		{Claim: "violet's object is paused by its annotation, and the configuration changes: " +
			"violet's account stays as it is.", Within: 20 * time.Second, Show: t.pauses},
		newStep("The annotation is taken off: violet's account follows.", 10*time.Second, "7 connections for violet",
			t.annotate("violet", "null"), t.allowed("violet", 7),
			t.says("violet", serviceprovider.ConditionSynced, metav1.ConditionTrue, serviceprovider.ReasonReconcileSuccess)),
		newStep("The configuration goes missing: the objects say so, and what was given to the tenants goes on working.",
			20*time.Second,
			"accounts that are not Ready, and credentials that NATS accepts",
			func(ctx context.Context) error { return t.platform.Delete(ctx, configuration()) },
			t.unconfigured("red"), t.unconfigured("violet"), t.unconfigured("amber"), t.works("red"), t.works("violet"),
			t.works("amber")),
		newStep("It comes back: the objects are Ready again.", 20*time.Second, "accounts that are Ready",
			func(ctx context.Context) error {
				c := configuration()
				c.Connections, c.Poll.Duration = 7, 2*time.Second

				return t.platform.Create(ctx, c)
			},
			t.ready("red"), t.ready("violet"), t.ready("amber")),
	}
}

func (t *walk) pauses(ctx context.Context, r *tour.Report) error {
	if err := t.annotate("violet", `"`+serviceprovider.OperationIgnore+`"`)(ctx); err != nil {
		return err
	}
	if err := await(ctx, r, "that violet's object says that it is paused",
		t.says("violet", serviceprovider.ConditionSynced, metav1.ConditionFalse,
			serviceprovider.ReasonReconcilePaused)); err != nil {
		return err
	}
	if err := t.configure(`{"connections":7}`)(ctx); err != nil {
		return err
	}

	return await(ctx, r, "7 connections for red and amber, and 9 for violet", t.allowed("red", 7), t.allowed("amber", 7),
		t.allowed("violet", 9))
}

// rotating returns the steps in which access is rotated and denied, and the provider is restarted.
func (t *walk) rotating() []tour.Step {
	var old client.Client

	return []tour.Step{
		newStep("Access to red's control plane is rotated: the old one is of no use. (An API server remembers for ten "+
			"seconds that a token was good.)",
			30*time.Second, "an API server that refuses the old access",
			func(ctx context.Context) (err error) {
				if old, err = t.access(ctx, "red"); err != nil {
					return err
				}

				return t.granter.Rotate(ctx, client.ObjectKeyFromObject(request("red")))
			},
			func(ctx context.Context) (string, error) { return over(ctx, "red", old) }),
		t.redelivery("red", "red's credentials are deleted: they are delivered again over the new access."),
		{Claim: "The provider is stopped, the configuration changes, and a provider that remembers nothing is started: it " +
			"goes on, and makes nothing twice.", Within: 30 * time.Second, Show: t.restarts},
		newStep("blue asks for an account and is denied access: the object says so, and nothing is delivered.",
			10*time.Second,
			"that blue's object says that access is denied, and no credentials",
			func(ctx context.Context) error {
				t.denied.Store(request("blue").Namespace, true)

				return t.ask(ctx, "blue")
			},
			t.says("blue", serviceprovider.ServiceProviderConditionReady, metav1.ConditionFalse,
				serviceprovider.ReasonClusterAccessDenied),
			t.gone("control plane", t.mcp, delivered(account("blue")))),
	}
}

// restarts compares the inventory before and after a restart of the provider.
func (t *walk) restarts(ctx context.Context, r *tour.Report) error {
	before, err := t.made(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(t.provider.end(), t.configure(`{"connections":6}`)(ctx), t.down(ctx)); err != nil {
		return err
	}
	if err := t.startProvider(ctx); err != nil {
		return err
	}
	// This holds once the new provider has reconciled each account.
	if err := await(ctx, r, "6 connections for every account", t.allowed("red", 6), t.allowed("violet", 6),
		t.allowed("amber", 6)); err != nil {
		return err
	}
	after, err := t.made(ctx)
	if err != nil {
		return err
	}
	if added, missing := after.without(before), before.without(after); len(added)+len(missing) > 0 {
		return &tour.Missed{Want: "the objects of before, and no others",
			Saw: fmt.Errorf("added %v, missing %v", added, missing)}
	}
	r.See("the same objects as before, by their UIDs: %s", after)

	return nil
}

// leaving returns the steps in which accounts are deleted.
func (t *walk) leaving() []tour.Step {
	return []tour.Step{
		newStep("red has a stream in its account, and deletes the object: the deletion waits.", 10*time.Second,
			"that red's object says why it waits",
			func(ctx context.Context) error {
				return errors.Join(t.stream(ctx, "red", true), t.onboarding.Delete(ctx, account("red")))
			},
			t.says("red", serviceprovider.ServiceProviderConditionReady, metav1.ConditionFalse, "InUse"), t.works("red")),
		newStep("The stream goes: the account goes, with the credentials, the gateway, the access and the object.",
			20*time.Second, "that nothing of red is left",
			func(ctx context.Context) error { return t.stream(ctx, "red", false) },
			t.gone("onboarding", t.onboarding, account("red")), t.gone("control plane", t.mcp, delivered(account("red"))),
			t.gone("workload", t.workload, gateway(account("red"))),
			t.gone("platform", t.platform, request("red")), t.gone("platform", t.platform, workloadRequest("red")), t.refused),
		newStep("green has an account.", 20*time.Second, "an account that is Ready",
			func(ctx context.Context) error { return t.ask(ctx, "green") }, t.ready("green"), t.works("green")),
		newStep("An administrator deletes green's AccessRequest, then the object is deleted: access is requested again, "+
			"and nothing is left in the clusters.", 40*time.Second, "that nothing of green is left",
			func(ctx context.Context) error {
				return errors.Join(t.platform.Delete(ctx, request("green")), t.onboarding.Delete(ctx, account("green")))
			},
			t.gone("onboarding", t.onboarding, account("green")), t.gone("control plane", t.mcp, delivered(account("green"))),
			t.gone("workload", t.workload, gateway(account("green"))),
			t.gone("platform", t.platform, request("green")), t.gone("platform", t.platform, workloadRequest("green"))),
	}
}

// lasting returns the steps in which an access expires. They come last because it expires during the others.
func (t *walk) lasting(first *client.Client) []tour.Step {
	return []tour.Step{
		newStep("Access to amber's control plane is good for half a minute: that of the beginning is of no use any more, "+
			"and amber does not notice.", time.Minute,
			"an API server that refuses the access of the beginning, and an account that is Ready", nil,
			func(ctx context.Context) (string, error) { return over(ctx, "amber", *first) }, t.ready("amber"), t.works("amber")),
		t.redelivery("amber", "amber's credentials are deleted: they are delivered again over the access that was renewed."),
	}
}

// redelivery returns a step in which credentials are deleted after the access that delivered them has ended: they are
// delivered again with a new access.
func (t *walk) redelivery(name, claim string) tour.Step {
	var before string

	return newStep(claim, 10*time.Second, "credentials with another UID, which NATS accepts",
		func(ctx context.Context) (err error) {
			if before, err = t.version(ctx, name); err != nil {
				return err
			}

			return t.mcp.Delete(ctx, delivered(account(name)))
		},
		func(ctx context.Context) (string, error) {
			now, err := t.version(ctx, name)
			if err == nil && now == before {
				err = errors.New("the credentials are the old ones")
			}

			return fmt.Sprintf("control plane: secret %s had the UID %s, and has %s", name, before, now), err
		},
		t.ready(name), t.works(name))
}
