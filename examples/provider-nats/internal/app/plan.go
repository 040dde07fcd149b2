package app

import (
	"context"
	"io"
	"log/slog"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/plan"
)

// showPlan shows what the provider would change.
func showPlan(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := provider.DefaultOptions()
	o.Logger = logTo(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))

	p, err := provider.Plan(o, access)
	if err != nil {
		return exitCode(err, stderr)
	}

	return plan.Run(ctx, args, stdout, stderr, p)
}
