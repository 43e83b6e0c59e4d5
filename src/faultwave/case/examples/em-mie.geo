SetFactory("OpenCASCADE");
R = 0.01;
s = 1.0131; // the flat-faced ball has the volume of the round one at the sizes below
Sphere(1) = {0, 0, 0, s*R};
Sphere(2) = {0, 0, 0, 1.5*R};
Box(3) = {-4.8*R, -4.8*R, -4.8*R, 9.6*R, 9.6*R, 9.6*R};
BooleanFragments{ Volume{1}; Delete; }{ Volume{2, 3}; Delete; }
e = 0.05*R;
ball() = Volume In BoundingBox{-s*R - e, -s*R - e, -s*R - e, s*R + e, s*R + e, s*R + e};
inner() = Volume In BoundingBox{-1.5*R - e, -1.5*R - e, -1.5*R - e, 1.5*R + e, 1.5*R + e, 1.5*R + e};
around() = inner();
around() -= ball();
far() = Volume{:};
far() -= inner();
Physical Volume("ball") = {ball()};
Physical Volume("around") = {around()};
Physical Volume("far") = {far()};
outside() = CombinedBoundary{ Volume{:}; };
Physical Surface("outside") = {outside()};
Mesh.MeshSizeExtendFromBoundary = 0; Mesh.MeshSizeFromPoints = 0; Mesh.MeshSizeFromCurvature = 0;
Field[1] = MathEval;
Field[1].F = Sprintf("%g + %g * Max(0, Sqrt(x*x + y*y + z*z) - %g)", 0.33*R, 0.15, R);
Background Field = 1;
