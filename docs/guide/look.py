# look.py
import tensorsleuth

for series in tensorsleuth.open().watched(kind="variable"):
    print(f"{series.name}: norm {series.norm[0]:.1f} to {series.norm[-1]:.1f}, last update {series.ratio[-1]:.0%}")
